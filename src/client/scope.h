// A scope: where builders of this room add operations, and what they remember of the graph.
#ifndef LEAT_CLIENT_SCOPE_H_
#define LEAT_CLIENT_SCOPE_H_

#include "client/signature.h"
#include "leat/train.h"

typedef struct leat_variable_record_t {
  TF_Output handle;  // the reference
  TF_Operation* initializer;
  char* name;
  TF_DataType dtype;
  int rank;
  int64_t* dims;
  int trainable;
} leat_variable_record_t;

// Shared by a scope and those entered from it.
typedef struct leat_scope_root_t {
  TF_Graph* graph;
  TF_Status* status;
  leat_variable_record_t* variables;
  int variable_count;
  int variable_capacity;
  leat_op_signature_t* signatures;  // of ops used so far
  int references;
} leat_scope_root_t;

struct leat_scope_t {
  leat_scope_root_t* root;
  char* prefix;  // "" or "a/b/"
  TF_Operation** controls;  // that every operation runs after
  int control_count;
  char* device;  // "" leaves it to the placer
};

// true when there is no error yet.
int leat_scope_is_ok(const leat_scope_t* scope);
// Keeps the first error.
void leat_scope_fail(leat_scope_t* scope, TF_Code code, const char* format, ...);
// A name under the scope's prefix that is new in the graph; malloc'ed, NULL after an error.
char* leat_scope_name(leat_scope_t* scope, const char* base);
// Adds an operation under exactly |name|.
TF_Operation* leat_scope_add(leat_scope_t* scope, const char* op, const char* name,
                             const TF_Output* inputs, int input_count,
                             const leat_attribute_t* attributes, int attribute_count);
// Remembers a variable; takes over nothing.
void leat_scope_add_variable(leat_scope_t* scope, TF_Output handle, TF_Operation* initializer,
                             const char* name, TF_DataType dtype, int rank, const int64_t* dims,
                             int trainable);
// The reference of a new untrained variable that begins as |value|. A name that is taken gets a
// number: two optimizers may serve one variable.
TF_Output leat_scope_add_slot(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                              const int64_t* dims, double value);

#endif  // LEAT_CLIENT_SCOPE_H_
