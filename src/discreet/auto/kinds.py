"""The automatic choice as a kind of model: that of what it chooses."""

from discreet.kinds import Kind

KINDS = (
    Kind(
        name="auto",
        words="automatic choice",
        estimator="discreet.auto:PrivateClassifier",
        counted=True,
    ),
)
