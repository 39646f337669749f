"""What the procedural dancers can do: key poses, and the moves that string them together.

A pose is written for the left side; the right side is its mirror image. Arms are
directions in the chest's frame (out, up, forward), legs are positions on the floor in
leg lengths (left, up, forward), and the torso is in degrees and leg lengths.
"""

from collections.abc import Mapping

ARM_POSES: Mapping[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    # name: direction of the upper arm, direction of the forearm
    "down": ((0.22, -1, 0.05), (0.12, -1, 0.25)),
    "side": ((1, 0, 0.1), (1, 0, 0.15)),
    "up": ((0.25, 1, 0.05), (0.08, 1, 0.05)),
    "vee": ((0.7, 0.75, 0.1), (0.6, 0.8, 0.1)),
    "low-vee": ((0.7, -0.7, 0.15), (0.6, -0.75, 0.3)),
    "forward": ((0.08, 0, 1), (-0.05, 0.05, 1)),
    "forward-up": ((0.1, 0.6, 0.8), (0, 0.7, 0.7)),
    "guard": ((0.3, -0.8, 0.45), (-0.1, 0.75, 0.6)),
    "chest": ((0.75, -0.4, 0.4), (-0.7, 0.15, 0.65)),
    "hips": ((0.8, -0.65, -0.15), (-0.5, -0.75, 0.35)),
    "cactus": ((1, 0, 0.1), (0.1, 1, 0.2)),
    "cactus-down": ((1, 0, 0.1), (0.1, -1, 0.25)),
    "roof-low": ((0.75, -0.35, 0.3), (0.2, 0.95, 0.25)),
    "roof-high": ((0.45, 0.85, 0.15), (0.15, 1, 0.1)),
    "cross": ((0, -0.35, 0.95), (-0.8, 0.1, 0.55)),
    "head": ((0.8, 0.55, 0.1), (-0.75, 0.6, -0.1)),
    "clap": ((0.15, -0.45, 0.85), (-0.5, 0.4, 0.75)),
    "clap-high": ((0.35, 0.8, 0.4), (-0.4, 0.85, 0.25)),
    "back": ((0.3, -0.8, -0.5), (0.2, -0.95, -0.1)),
    "swing": ((0.15, -0.75, 0.65), (-0.1, -0.1, 1)),
    "robot": ((0.3, -1, 0.1), (0, 0.05, 1)),
    "robot-up": ((0.3, -0.9, 0.3), (0, 1, 0.3)),
    "salute": ((0.75, 0.3, 0.45), (-0.6, 0.65, 0.3)),
    "point-low": ((0, -0.65, 0.75), (-0.55, -0.6, 0.55)),
    "wing": ((0.9, -0.2, 0), (-0.55, -0.45, 0.5)),
    "wing-high": ((0.9, 0.35, 0), (-0.6, -0.6, 0.4)),
    "roll-high": ((0.45, -0.7, 0.5), (-0.6, 0.5, 0.6)),
    "roll-low": ((0.4, -0.8, 0.45), (-0.65, -0.15, 0.75)),
}

_FEET = (0.13, 0.0, 0.0, -0.13, 0.0, 0.0)
LEG_POSES: Mapping[str, tuple[float, ...]] = {
    # name: pelvis x y z, left foot x y z, right foot x y z
    "home": (0, 0, 0, *_FEET),
    "bounce": (0, -0.11, 0, *_FEET),
    "squat": (0, -0.32, -0.06, 0.24, 0, 0, -0.24, 0, 0),
    "wide": (0, -0.08, 0, 0.34, 0, 0, -0.34, 0, 0),
    "toes": (0, 0.05, 0, 0.13, 0.06, 0, -0.13, 0.06, 0),
    "jump": (0, 0.16, 0, 0.14, 0.19, 0, -0.14, 0.19, 0),
    "left-step": (0.2, -0.04, 0, 0.4, 0, 0, -0.13, 0, 0),
    "left-touch": (0.28, -0.05, 0, 0.4, 0, 0, 0.16, 0.02, 0.06),
    "left-knee": (-0.07, -0.02, 0, 0.12, 0.44, 0.28, -0.13, 0, 0),
    "left-kick": (-0.07, -0.04, -0.04, 0.12, 0.36, 0.72, -0.13, 0, 0),
    "left-side-kick": (-0.1, -0.03, 0, 0.68, 0.3, 0.1, -0.13, 0, 0),
    "left-heel": (-0.04, -0.09, -0.05, 0.16, 0.02, 0.4, -0.13, 0, 0),
    "left-back": (0, -0.1, -0.14, 0.14, 0.02, -0.42, -0.13, 0, 0),
    "left-lunge": (0.28, -0.28, 0, 0.5, 0, 0.08, -0.34, 0, 0),
    "left-forward-lunge": (0, -0.27, 0.2, 0.15, 0, 0.5, -0.13, 0.04, -0.3),
    "left-cross": (-0.1, -0.06, 0.04, -0.24, 0, 0.2, -0.13, 0, -0.04),
    "left-curl": (-0.07, -0.04, 0, 0.14, 0.42, -0.3, -0.13, 0, 0),
    "left-march": (-0.04, -0.02, 0, 0.13, 0.24, 0.12, -0.13, 0, 0),
    "left-run": (0, -0.08, 0.03, 0.13, 0.36, 0.3, -0.13, 0, -0.22),
    "left-vine": (0.3, -0.06, 0, 0.4, 0, 0, 0.54, 0, -0.16),
    "left-vine-out": (0.62, -0.05, 0, 0.82, 0, 0, 0.54, 0, -0.16),
    "left-vine-end": (0.72, -0.03, 0, 0.82, 0, 0, 0.58, 0.02, 0),
}

TORSO_CHANNELS = ("lean", "side", "twist", "shrug", "hip_yaw", "hip_roll", "hip_x", "hip_z", "nod", "tilt")
TORSO_MIRROR = (1, -1, -1, -1, -1, -1, -1, 1, 1, -1)
TORSO_POSES: Mapping[str, Mapping[str, float]] = {
    "still": {},
    "nod": {"nod": 28, "lean": 4},
    "back": {"lean": -14, "nod": -8, "hip_z": 0.06},
    "bow": {"lean": 34, "nod": 12, "hip_z": -0.08},
    "low": {"lean": 22, "hip_z": -0.05},
    "chest-out": {"lean": -9, "hip_z": -0.05, "nod": -6},
    "chest-in": {"lean": 13, "hip_z": 0.02, "nod": 14},
    "roll-up": {"lean": -8, "hip_z": 0.1},
    "roll-down": {"lean": 18, "hip_z": -0.1, "nod": 18},
    "hip-forward": {"hip_z": 0.1, "lean": -7},
    "hip-back": {"hip_z": -0.1, "lean": 14},
    "left-hip": {"hip_x": 0.13, "hip_roll": 8, "side": -7},
    "left-lean": {"side": 20, "tilt": 10},
    "left-twist": {"twist": 32, "hip_yaw": -14},
    "left-hip-twist": {"hip_yaw": 26, "twist": -8},
    "left-shimmy": {"twist": 14, "shrug": 8},
    "left-shrug": {"shrug": 13, "tilt": -8},
    "left-tilt": {"tilt": 22, "side": 5},
}

Moves = Mapping[str, tuple[float, str]]  # name: beats a key, the keys in order, repeated as long as needed

ARM_MOVES: Moves = {
    # "left/right", or one pose for both arms
    "swinging": (1, "swing/back back/swing"),
    "punches": (1, "forward/guard guard/forward"),
    "uppercuts": (1, "up/guard guard guard/up guard"),
    "claps": (1, "low-vee clap"),
    "high claps": (1, "vee clap-high"),
    "raise the roof": (1, "roof-low roof-high"),
    "windmill": (
        0.5,
        "up/down vee/low-vee side low-vee/vee down/up swing/forward-up forward forward-up/swing",
    ),
    "arm wave": (1, "side/cactus-down cactus/side side/cactus cactus-down/side"),
    "robot": (1, "robot/robot-up robot-up/robot robot-up robot"),
    "cactus flips": (1, "cactus cactus-down"),
    "disco": (1, "vee/hips point-low/hips"),
    "vogue": (1, "head/side salute/up side/head up/salute"),
    "hand rolls": (0.5, "roll-high/roll-low roll-low/roll-high"),
    "reaching": (1, "forward-up/hips hips hips/forward-up hips"),
    "breaststroke": (1, "clap forward side chest"),
    "chicken wings": (1, "wing wing-high"),
    "lasso": (0.5, "hips/up hips/vee hips/roof-high hips/head"),
    "jumping-jack arms": (1, "down side up side"),
    "hug": (1, "side cross"),
    "pulling": (1, "forward chest"),
    "sprinkler": (1, "head/forward head/vee head/side head/vee"),
    "salutes": (1, "salute/down down/salute"),
    "big vee": (2, "vee low-vee"),
    "airplane": (2, "vee/low-vee low-vee/vee"),
    "hands on hips": (4, "hips"),
    "pointing": (1, "side/chest chest/side"),
}

LEG_MOVES: Moves = {
    "groove": (0.5, "bounce home"),
    "step touch": (1, "left-step left-touch right-step right-touch"),
    "squats": (1, "squat home"),
    "kicks": (1, "left-kick home right-kick home"),
    "side kicks": (1, "left-side-kick home right-side-kick home"),
    "knee lifts": (1, "left-knee home right-knee home"),
    "heel digs": (1, "left-heel home right-heel home"),
    "charleston": (1, "left-kick home right-back home"),
    "side lunges": (1, "left-lunge wide right-lunge wide"),
    "forward lunges": (1, "left-forward-lunge home right-forward-lunge home"),
    "running man": (0.5, "left-run bounce right-run bounce"),
    "marching": (0.5, "left-march home right-march home"),
    "jacks": (1, "wide home"),
    "jumps": (0.5, "bounce jump bounce home"),
    "grapevine": (
        1,
        "left-step left-vine left-vine-out left-vine-end left-vine-out left-vine left-step home",
    ),
    "cross steps": (1, "left-cross home right-cross home"),
    "curls": (1, "left-curl wide right-curl wide"),
    "wide sway": (2, "left-lunge right-lunge"),
    "calf raises": (1, "toes bounce"),
    "low ride": (0.5, "squat wide"),
}

TORSO_MOVES: Moves = {
    "upright": (4, "still"),
    "nodding": (0.5, "nod still"),
    "hip sways": (1, "left-hip right-hip"),
    "body roll": (0.5, "chest-out chest-in roll-down roll-up"),
    "twisting": (1, "left-twist right-twist"),
    "hip twisting": (1, "left-hip-twist right-hip-twist"),
    "side bends": (1, "left-lean right-lean"),
    "shimmy": (0.5, "left-shimmy right-shimmy"),
    "chest pumps": (1, "chest-out chest-in"),
    "hip circles": (1, "left-hip hip-forward right-hip hip-back"),
    "bowing": (2, "bow still"),
    "crouching": (4, "low"),
    "leaning back": (2, "back still"),
    "shrugs": (1, "left-shrug right-shrug"),
    "head tilts": (1, "left-tilt right-tilt"),
}

# Sixty-four of each.
_ADJECTIVES = """
    amber azure bold brave breezy bright bronze calm cherry cinder cobalt copper coral cosmic crimson
    crystal daring dusky electric emerald feather fiery fleet floating frosty gentle gilded ginger
    golden happy hazel humble indigo ivory jade jolly lively lucky lunar marble mellow merry midnight
    misty neon noble opal paper pearl plucky quiet rapid rosy ruby rustic saffron scarlet silent silver
    solar sunny swift velvet wild
"""
_NOUNS = """
    anchor arrow badger beacon breeze brook canyon cascade cedar cloud comet compass coyote crane creek
    dawn dolphin dragon drum eagle echo ember falcon fern firefly flame fox garden gecko glacier harbor
    hare heron island jaguar kite lagoon lantern leopard lotus lynx magnet maple meadow meteor mirror
    monsoon nebula orchid otter owl panther pebble phoenix prairie quartz raven river rocket sparrow
    thunder tiger willow zephyr
"""
ADJECTIVES = tuple(_ADJECTIVES.split())
NOUNS = tuple(_NOUNS.split())
