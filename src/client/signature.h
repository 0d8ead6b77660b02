// What an op takes: which of its arguments are lists.
#ifndef LEAT_CLIENT_SIGNATURE_H_
#define LEAT_CLIENT_SIGNATURE_H_

#include "leat/graph.h"

typedef struct leat_signature_argument_t {
  int is_list;
  char* length;  // the int attribute that counts it; NULL for a list of types or a single tensor
} leat_signature_argument_t;

typedef struct leat_op_signature_t {
  char* op;
  leat_signature_argument_t* arguments;
  int count;
  struct leat_op_signature_t* next;
} leat_op_signature_t;

// Asks |graph| for the op's declaration. NULL with |status| set when there is none.
leat_op_signature_t* leat_signature_create(TF_Graph* graph, const char* op, TF_Status* status);
// Frees a list of them; NULL is allowed.
void leat_signature_free(leat_op_signature_t* signatures);
// How many of |input_count| inputs argument |index| takes: 1 where it is no list; lists share what
// is left, but those whose length an attribute states. -1 when they cannot be divided so.
int leat_signature_share(const leat_op_signature_t* signature, int index, int input_count,
                         const leat_attribute_t* attributes, int attribute_count);

#endif  // LEAT_CLIENT_SIGNATURE_H_
