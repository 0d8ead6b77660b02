// Lists the sources of the input family, which reads data (section 4.5 of the white paper): files,
// readers of records, and parsers of what records hold.
#include "ops/family.h"

#define LEAT_INPUT_SOURCES(X) \
  X(file)                     \
  X(raw)                      \
  X(reader)                   \
  X(reader_access)            \
  X(serialized_tensor)        \
  X(csv)                      \
  X(example)                  \
  X(json_example)             \
  X(proto)

LEAT_OP_FAMILY(input, LEAT_INPUT_SOURCES)
