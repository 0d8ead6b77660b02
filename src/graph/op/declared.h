// Declared ops: those of TensorFlow for which this library has no kernel and which few programs
// meet (ops of other accelerators, of compilers, of TensorFlow's own tests). A graph that holds
// them can be imported, inspected, pruned, exported, and run where they are not needed. Their rows
// lie in leat_module_declared.so, which is opened when a graph first names an op that the library
// does not define, so that a program without such graphs pays nothing for them.
//
// The module is no foreign library: its table is data in the form of op.h, and both are built
// together. A file of another build is known by its sizes and is not used.
#ifndef LEAT_GRAPH_OP_DECLARED_H_
#define LEAT_GRAPH_OP_DECLARED_H_

#include "graph/op/op.h"

typedef struct leat_declared_module_s {
  size_t struct_size;         // of this struct in the module
  size_t row_size;            // of leat_op_row_t in the module
  const leat_op_row_t* rows;  // ends with a row without a name
} leat_declared_module_t;

// The module's only exported symbol, `leat_module_declared`, has this type.
const leat_declared_module_t* leat_module_declared(void);

// The rows of the module, which may block on the disk to open it. An empty table when there is no
// module, which is no error. Any thread.
const leat_op_row_t* leat_declared_ops(void);

#endif  // LEAT_GRAPH_OP_DECLARED_H_
