import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.errors import WeightsError
from dancematch.pose.blazepose.detector import SIDE, anchors, decode, merge_overlapping
from dancematch.pose.blazepose.interpreter import Network
from dancematch.pose.blazepose.landmarks import _upright, cut_out, refine, torso_colours
from dancematch.pose.blazepose.regions import Region, SearchWindow, tiles

NUMBERS = st.floats(-500, 500, allow_nan=False)


def test_anchors_stand_in_the_middle_of_their_cells():
    """Three grids, row by row, with two, two and six anchors per cell: as the network was trained."""
    slow = [
        ((column + 0.5) * stride / 224, (row + 0.5) * stride / 224)
        for stride, repeats in ((8, 2), (16, 2), (32, 6))
        for row in range(224 // stride)
        for column in range(224 // stride)
        for _ in range(repeats)
    ]

    np.testing.assert_allclose(slow, anchors(), atol=1e-6)


def test_decoding_places_a_box_and_its_points_about_the_anchor():
    raw, scores = np.zeros((2254, 12), np.float32), np.full(2254, -50, np.float32)
    raw[700, :4], raw[700, 4:6], scores[700] = (22.4, 0, 44.8, 89.6), (0, -22.4), 3
    boxes, sure = decode(raw, scores)
    x, y = anchors()[700]

    np.testing.assert_allclose([[x, y - 0.2, x + 0.2, y + 0.2]], boxes[:, :4], atol=1e-6)
    np.testing.assert_allclose([[x, y - 0.1]], boxes[:, 4:6], atol=1e-6)
    assert [1 / (1 + np.exp(-3))] == pytest.approx(sure.tolist())


def _slow_overlap(one, other):
    width = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    height = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    total = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1])
    return width * height / (total - width * height)


def _slow_merge(boxes, scores):
    left = sorted(range(len(boxes)), key=lambda i: -scores[i])
    merged = []
    while left:
        group = [i for i in left if i == left[0] or _slow_overlap(boxes[left[0]], boxes[i]) > 0.3]
        weight = sum(scores[i] for i in group)
        merged.append(sum(scores[i] * boxes[i] for i in group) / weight)
        left = [i for i in left if i not in group]
    return merged


@given(st.integers(0, 2**32 - 1), st.integers(0, 25))
def test_merging_agrees_with_a_slow_reference(seed, count):
    """Weighted suppression gives the boxes that plain loops give."""
    rng = np.random.default_rng(seed)
    corner, extent = rng.random((count, 2)), rng.uniform(0.1, 0.5, (count, 2))
    boxes = np.concatenate([corner, corner + extent, rng.random((count, 8))], axis=1)
    scores = rng.permutation(np.linspace(0.5, 1, count))
    merged, best = merge_overlapping(boxes, scores)

    np.testing.assert_allclose(np.reshape(_slow_merge(boxes, scores), (-1, 12)), np.reshape(merged, (-1, 12)))
    assert sorted(best, reverse=True) == best


def _slow_refine(point, heat):
    column, row = int(point[0] * 64), int(point[1] * 64)
    if not (0 <= column < 64 and 0 <= row < 64):
        return point
    cells = [
        (c, r, 1 / (1 + np.exp(-float(heat[r, c]))))
        for r in range(max(0, row - 3), min(64, row + 4))
        for c in range(max(0, column - 3), min(64, column + 4))
    ]
    if max(warmth for _, _, warmth in cells) < 0.5:
        return point
    total = sum(warmth for _, _, warmth in cells)
    return sum(c * w for c, _, w in cells) / total / 64, sum(r * w for _, r, w in cells) / total / 64


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_refining_agrees_with_a_slow_reference(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 1.1, (39, 2)).astype(np.float32)
    heat = rng.normal(rng.choice([-6, -1], 39), 1, (64, 64, 39)).astype(np.float32)
    expected = [_slow_refine(point, heat[:, :, i]) for i, point in enumerate(points)]

    np.testing.assert_allclose(expected, refine(points, heat), atol=1e-5)


@given(NUMBERS, NUMBERS, st.floats(10, 500), st.floats(-3.1, 3.1))
def test_a_region_is_found_again_from_its_own_points(x, y, size, angle):
    """The middle and the top of a region's body circle make the same region."""
    region = Region(x, y, size, angle)
    hips, top = region.to_frame(np.array([[0.5, 0.5], [0.5, 0.5 - 0.5 / 1.25]]))
    again = Region.around(hips, top)

    assert (x, y, size) == pytest.approx((again.x, again.y, again.size), rel=1e-3, abs=1e-2)
    assert pytest.approx(np.angle(np.exp(1j * (angle - again.angle))), abs=1e-3) == 0


def test_cutting_out_turns_a_leaning_body_upright():
    """A body that lies with its head to the right stands head up in the crop."""
    image = np.zeros((200, 300, 3), np.uint8)
    image[95:105, 180:190] = 255  # the head, right of the hips at (150, 100)
    region = Region.around(np.array([150, 100]), np.array([200, 100]))
    rows, columns = np.nonzero(cut_out(image, region)[..., 0] > 128)
    head = region.to_frame(np.array([[columns.mean() + 0.5, rows.mean() + 0.5]]) / 256)[0]

    assert rows.mean() < 80
    assert abs(columns.mean() - 127.5) < 1
    assert pytest.approx(head.tolist(), abs=0.7) == (185, 100)


def test_the_rotation_of_a_region_is_undone_in_world_joints():
    """What the network sees upright in a rotated region lies as the body does; y up, z towards the camera."""
    head_up = np.array([[0, -0.5, 0.1]], np.float32)  # the network's y points down, its z away

    np.testing.assert_allclose([[0, 0.5, -0.1]], _upright(head_up, 0.0), atol=1e-6)
    np.testing.assert_allclose([[0.5, 0, -0.1]], _upright(head_up, np.pi / 2), atol=1e-6)


def test_clothes_are_told_apart():
    red, blue = np.zeros((256, 256, 3), np.uint8), np.zeros((256, 256, 3), np.uint8)
    red[..., 0], blue[..., 2] = 250, 250
    corners = np.array([[100, 80], [150, 80], [100, 160], [150, 160]], np.float32)

    assert pytest.approx(np.minimum(torso_colours(red, corners), torso_colours(red, corners)).sum()) == 1
    assert np.minimum(torso_colours(red, corners), torso_colours(blue, corners)).sum() == 0
    assert pytest.approx(torso_colours(red, corners + 1000).sum()) == 1


@given(st.integers(16, 2000), st.integers(16, 2000), st.booleans())
def test_tiles_cover_the_frame(width, height, fine):
    """Every pixel is in some tile, and no tile reaches out of the frame."""
    parts = tiles(width, height, fine=fine)
    covered = np.zeros((height, width), bool)
    for part in parts:
        assert part.left >= 0
        assert part.top >= 0
        assert part.left + part.width <= width
        assert part.top + part.height <= height
        covered[part.top : part.top + part.height, part.left : part.left + part.width] = True

    assert covered.all() or (not fine and not parts)


@given(NUMBERS, NUMBERS, st.floats(1, 3000))
def test_a_window_about_a_region_lies_in_the_frame(x, y, size):
    view = SearchWindow.about(Region(x, y, size), 320, 240)

    assert 0 <= view.left < view.left + view.width <= 320
    assert 0 <= view.top < view.top + view.height <= 240


def _two_headed_network() -> bytes:
    """A network with outputs tanh(x) of shape [1, 2] and a copy beside a copy of x, [1, 4]."""
    names = {"TANH": ([0], [1]), "CONCATENATION": ([0, 0], [2])}
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers = 3, [schema.BufferT()]
    for name in names:
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
        model.operatorCodes = [*(model.operatorCodes or []), code]
    graph.tensors = [_tensor(b"x", 2), _tensor(b"tanh", 2), _tensor(b"twice", 4)]
    graph.inputs, graph.outputs, graph.operators = [0], [1, 2], []
    for number, (inputs, outputs) in enumerate(names.values()):
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = number, inputs, outputs
        graph.operators.append(operator)
    joined = graph.operators[1]
    joined.builtinOptionsType = schema.BuiltinOptions.ConcatenationOptions
    joined.builtinOptions = schema.ConcatenationOptionsT()
    joined.builtinOptions.axis = 1
    model.subgraphs = [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(name: bytes, width: int) -> schema.TensorT:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type = name, [1, width], schema.TensorType.FLOAT32
    return tensor


def test_an_unwanted_output_is_cut_out_and_the_rest_stays(tmp_path):
    """The cut network gives the other output, bit by bit."""
    (tmp_path / "two.tflite").write_bytes(_two_headed_network())
    values = np.array([[0.3, -2]], np.float32)
    whole = Network(tmp_path / "two.tflite")(values)
    cut = Network(tmp_path / "two.tflite", unwanted=(1, 4))(values)

    assert [output.shape for output in whole] == [(1, 2), (1, 4)]
    assert [output.shape for output in cut] == [(1, 2)]
    np.testing.assert_array_equal(whole[0], cut[0])


@pytest.mark.parametrize("content", [b"", b"not a network at all", None])
def test_a_damaged_network_is_an_expected_error(tmp_path, content):
    if content is not None:
        (tmp_path / "bad.tflite").write_bytes(content)
    with pytest.raises(WeightsError, match=r"bad\.tflite"):
        Network(tmp_path / "bad.tflite")


def test_the_detector_sees_224_pixels():
    """The anchors are made for the side that pictures are shrunk to."""
    assert sum((SIDE // stride) ** 2 * count for stride, count in ((8, 2), (16, 2), (32, 6))) == 2254
