// What moves variables along their gradients (the optimizers of section 7's training).
#include "ops/family.h"

#define LEAT_TRAIN_SOURCES(X) X(optimizer)

LEAT_OP_FAMILY(train, LEAT_TRAIN_SOURCES)
