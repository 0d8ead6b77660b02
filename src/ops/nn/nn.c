// The family of ops of neural networks: activations, biases, convolutions, pools, normalisations
// and losses. The list names the sources whose tables of ops and kernels src/init.c registers.
#include "graph/rewrite_rule.h"
#include "ops/family.h"

#define LEAT_NN_SOURCES(X) \
  X(bias)                  \
  X(relu)                  \
  X(softmax)               \
  X(cross_entropy)         \
  X(conv2d)                \
  X(fused_conv2d)          \
  X(ctc_decoder)           \
  X(ctc_loss)              \
  X(max_pool)              \
  X(avg_pool)              \
  X(top_k)                 \
  X(batch_norm)            \
  X(l2_loss)               \
  X(lrn)                   \
  X(data_format)           \
  X(dilation2d)            \
  X(conv3d)                \
  X(global_norm)           \
  X(fractional_pool)

#define LEAT_NN_RULES(X) X(epilogue) X(cross_entropy)

LEAT_OP_FAMILY_WITH_RULES(nn, LEAT_NN_SOURCES, LEAT_NN_RULES)
