// The family of ops on images [batch, height, width, channels] and on boxes in them.
#include "ops/family.h"

#define LEAT_IMAGE_SOURCES(X) \
  X(crop)                     \
  X(drawing)                  \
  X(resize)                   \
  X(suppression)

LEAT_OP_FAMILY(image, LEAT_IMAGE_SOURCES)
