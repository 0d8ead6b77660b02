// Definition of StochasticCastToInt: real numbers to integers, rounded up or down at random, so
// that the mean of many roundings is the number. A model that is trained with few bits so keeps
// changes that are smaller than its steps. The random bits come from a key and a counter, as for
// the other stateless ops (distribution.c). stochastic_cast_cpu.c has the kernel.
#include "ops/op_rows.h"
#include "ops/random/random_key.h"

static leat_status_t stochastic_cast_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_random_check_key(c));
  leat_inference_set_output(c, 0, leat_inference_input(c, 0));
  return leat_ok_status();
}

const leat_op_row_t leat_stochastic_cast_ops[] = {
    LEAT_OP_ROW("StochasticCastToInt", "input: Tin; key: uint64; counter: uint64; alg: int32",
                "output: Tout",
                "Tin: {half, bfloat16, float, double}; Tout: {int8, int16, int32}",
                stochastic_cast_shape, NULL,
                "Integers near the numbers, rounded at random so that the mean is kept."),
    LEAT_OP_ROWS_END,
};
