// Generators whose state is the value of a resource variable, a vector of int64.
#ifndef LEAT_OPS_RANDOM_VARIABLE_GENERATOR_CPU_H_
#define LEAT_OPS_RANDOM_VARIABLE_GENERATOR_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

// Gives the generator that lies in the variable at input 0, and moves the variable on by |numbers|
// numbers, each of which has LEAT_RANDOM_RESERVED groups to itself. Input |algorithm| says which
// generator it is; with 0, the first element of the variable does, and the state follows it. May
// wait for the variable's lock. INVALID_ARGUMENT where the variable holds no such state;
// UNIMPLEMENTED for the algorithm ThreeFry, which TensorFlow's CPU lacks as well.
LEAT_MUST_USE leat_status_t leat_variable_generator_take(leat_kernel_context_t* c, int algorithm,
                                                         uint64_t numbers,
                                                         leat_philox_t* out_philox);

#endif  // LEAT_OPS_RANDOM_VARIABLE_GENERATOR_CPU_H_
