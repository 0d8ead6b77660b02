// The family of ops that move variables along their gradients: the optimizers of training (section
// 7 of the white paper). This list registers each source's ops and kernels.
#include "graph/rewrite_rule.h"
#include "ops/family.h"

#define LEAT_TRAIN_SOURCES(X) X(optimizer)

#define LEAT_TRAIN_RULES(X) X(update)

LEAT_OP_FAMILY_WITH_RULES(train, LEAT_TRAIN_SOURCES, LEAT_TRAIN_RULES)
