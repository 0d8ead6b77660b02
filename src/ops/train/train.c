// The family of ops that move variables along their gradients: the optimizers of training (section
// 7 of the white paper). This list registers each source's ops and kernels.
#include "ops/family.h"

#define LEAT_TRAIN_SOURCES(X) X(optimizer)

LEAT_OP_FAMILY(train, LEAT_TRAIN_SOURCES)
