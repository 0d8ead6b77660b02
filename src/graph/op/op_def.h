// The declaration of an op as TensorFlow's OpDef message, for clients of the C API that ask which
// ops there are (TF_GetAllOpList and its like) and for plugins. Summaries and descriptions are left
// out. TensorFlow's tools compare OpDefs byte by byte, so that attributes and allowed values come
// out in the order of the declaration.
#ifndef LEAT_GRAPH_OP_OP_DEF_H_
#define LEAT_GRAPH_OP_OP_DEF_H_

#include "base/string_builder.h"
#include "formats/generated/op_def.h"
#include "graph/op/op.h"

// Fills |out_def|. Its texts are borrowed from |op|; everything else lies in |arena|.
LEAT_MUST_USE leat_status_t leat_op_to_def(const leat_op_t* op, leat_arena_t* arena,
                                           leat_pb_op_def_t* out_def);
// Appends the encoded OpDef of |op| to |out|. |allocator| is for working memory that is freed
// before the call returns.
LEAT_MUST_USE leat_status_t leat_op_to_op_def(const leat_op_t* op, leat_allocator_t* allocator,
                                              leat_string_builder_t* out);
// Appends the encoded OpList of all ops to |out|, sorted by name. Every row is parsed for it.
LEAT_MUST_USE leat_status_t leat_op_registry_export(leat_op_registry_t* registry,
                                                    leat_allocator_t* allocator,
                                                    leat_string_builder_t* out);

#endif  // LEAT_GRAPH_OP_OP_DEF_H_
