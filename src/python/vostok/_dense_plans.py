"""Plans of the operations that have no sparse matrix."""

from __future__ import annotations

from . import _c
from . import _structures as s
from ._errors import fail
from ._plans import BAD_ARGUMENT, Plan, _packer, _refuse

_execute_depthwise = _c.raw_execute("depthwise")
_depthwise_size, _pack_depthwise = _packer(s.DepthwiseArguments)


class DepthwisePlan(Plan):
    """A plan for DepthwiseConvolution."""

    __slots__ = ()

    def execute(
        self, stream: int = 0, *, input: int = 0, filters: int = 0, bias: int = 0, output: int = 0, workspace: int = 0
    ) -> None:
        """input [batch, channels, height, width], filters [channels, kernel, kernel], bias f32 [channels]."""
        try:
            status = _execute_depthwise(
                self._handle, stream, _pack_depthwise(_depthwise_size, 0, input, filters, bias, output, workspace)
            )
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)


_execute_bias_activation = _c.raw_execute("bias_activation")
_bias_activation_size, _pack_bias_activation = _packer(s.BiasActivationArguments)


class BiasActivationPlan(Plan):
    """A plan for BiasActivation."""

    __slots__ = ()

    def execute(self, stream: int = 0, *, input: int = 0, bias: int = 0, output: int = 0, workspace: int = 0) -> None:
        """input and output [batch, rows, columns], which may be the same; bias f32 [rows] or [columns]."""
        try:
            status = _execute_bias_activation(
                self._handle, stream, _pack_bias_activation(_bias_activation_size, 0, input, bias, output, workspace)
            )
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)


_execute_im2col = _c.raw_execute("im2col")
_im2col_size, _pack_im2col = _packer(s.Im2colArguments)


class Im2colPlan(Plan):
    """A plan for Im2col."""

    __slots__ = ()

    def execute(self, stream: int = 0, *, input: int = 0, output: int = 0, workspace: int = 0) -> None:
        """input [batch, channels, height, width]; output as Im2col says."""
        try:
            status = _execute_im2col(self._handle, stream, _pack_im2col(_im2col_size, 0, input, output, workspace))
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)
