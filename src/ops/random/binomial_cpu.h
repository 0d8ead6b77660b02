// The CPU kernel of StatelessRandomBinomial, whose row is in the table of poisson_cpu.c.
#ifndef LEAT_OPS_RANDOM_BINOMIAL_CPU_H_
#define LEAT_OPS_RANDOM_BINOMIAL_CPU_H_

#include "kernel/kernel.h"

LEAT_MUST_USE leat_status_t leat_stateless_binomial__cpu(leat_kernel_context_t* c);

#endif  // LEAT_OPS_RANDOM_BINOMIAL_CPU_H_
