"""Mechanisms: points, rigid bodies, joints and forces that become a `System`."""

from taut.model.mechanism.mechanism import Mechanism

__all__ = ["Mechanism"]
