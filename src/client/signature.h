// Which arguments of an op are lists. The root of a graph's scopes (client/scope.h) keeps a list of
// the declarations of the ops that were used, so that each is read once, and frees it at its end.
#ifndef LEAT_CLIENT_SIGNATURE_H_
#define LEAT_CLIENT_SIGNATURE_H_

#include "leat/graph.h"

// One input argument of an op, as its OpDef declares it.
typedef struct leat_signature_argument_t {
  int is_list;
  // the int attribute with its length; NULL for lists of types and for single tensors
  char* length;
} leat_signature_argument_t;

// The input arguments of one op. Owns its texts.
typedef struct leat_op_signature_t {
  char* op;
  leat_signature_argument_t* arguments;
  int count;
  struct leat_op_signature_t* next;
} leat_op_signature_t;

// Asks |graph| for the declaration of |op|. NULL, with |status| set, where there is none.
leat_op_signature_t* leat_signature_create(TF_Graph* graph, const char* op, TF_Status* status);
// Frees a list of declarations; NULL is allowed.
void leat_signature_free(leat_op_signature_t* signatures);
// Returns how many of |input_count| inputs argument |index| takes: 1 where it is no list, the
// number that an attribute states, or an equal share of what is left. -1 where the inputs cannot be
// divided so.
int leat_signature_share(const leat_op_signature_t* signature, int index, int input_count,
                         const leat_attribute_t* attributes, int attribute_count);

#endif  // LEAT_CLIENT_SIGNATURE_H_
