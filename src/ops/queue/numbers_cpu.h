// Adding tensors of any number type, for what gathers gradients.
#ifndef LEAT_OPS_QUEUE_NUMBERS_CPU_H_
#define LEAT_OPS_QUEUE_NUMBERS_CPU_H_

#include <stdbool.h>
#include <stdint.h>

// sum[i] = a[i] + b[i]; |sum| may be |a|. false for types that are no numbers.
bool leat_numbers_add(int dtype, const void* a, const void* b, void* sum, int64_t count);

#endif  // LEAT_OPS_QUEUE_NUMBERS_CPU_H_
