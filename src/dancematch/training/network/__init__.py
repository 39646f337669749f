"""What is optimised: initial weights, losses, the learner, and its export as ONNX."""
