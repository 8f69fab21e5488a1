"""Files: models as skops archives and ONNX graphs, atomic writing."""
