// A scope: where the builders of this folder add operations, and what they remember of the graph.
// leat/graph.h gives scopes to programs: prefixes of names, a device, and controls, which a scope
// that is entered inherits. This header is what the folder's own sources (layers, optimizers, the
// saver) share beneath it.
//
// Errors need no test after each call: the first one is kept in the root's status, and from then on
// nothing is added and functions return NULL or an output without an operation. One thread at a
// time uses the scopes of a graph. The folder is written over the C API alone, so strings and
// arrays come from malloc.
#ifndef LEAT_CLIENT_SCOPE_H_
#define LEAT_CLIENT_SCOPE_H_

#include "leat/graph.h"
#include "leat/train.h"

// ---- Declarations of ops (signature.c) ----------------------------------------------------------
// Which arguments of an op are lists. The root of a graph's scopes keeps a list of the declarations
// of the ops that were used, so that each is read once, and frees it at its end.

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

// ---- Scopes -------------------------------------------------------------------------------------

// A variable, for the initializer, the optimizer and the saver. The scope's root owns it.
typedef struct leat_variable_record_t {
  TF_Output handle;  // a reference
  // The operation that assigns the first value.
  TF_Operation* initializer;
  char* name;
  TF_DataType dtype;
  int rank;
  int64_t* dims;
  // Whether optimizers change it.
  int trainable;
} leat_variable_record_t;

// What a scope shares with those entered from it.
typedef struct leat_scope_root_t {
  TF_Graph* graph;
  // The first error of all scopes.
  TF_Status* status;
  leat_variable_record_t* variables;
  int variable_count;
  int variable_capacity;
  leat_op_signature_t* signatures;  // list of the ops used so far
  int references;  // scopes
} leat_scope_root_t;

// A scope owns copies of its parent's prefix, controls and device, so that the parent may be freed
// first.
struct leat_scope_t {
  leat_scope_root_t* root;
  char* prefix;  // "" or "a/b/"
  TF_Operation** controls;  // every operation waits for these
  int control_count;
  char* device;  // "": the placer chooses
};

// Returns true where there is no error yet.
int leat_scope_is_ok(const leat_scope_t* scope);
// Keeps an error, unless there is one already.
void leat_scope_fail(leat_scope_t* scope, TF_Code code, const char* format, ...);
// Returns a name under the scope's prefix that is new in the graph, from malloc; NULL after an
// error.
char* leat_scope_name(leat_scope_t* scope, const char* base);
// Adds an operation with exactly this name, on the scope's device and after its controls; NULL
// after an error. The inputs are divided among the op's arguments by their attributes
// (client/signature.h).
TF_Operation* leat_scope_add(leat_scope_t* scope, const char* op, const char* name,
                             const TF_Output* inputs, int input_count,
                             const leat_attribute_t* attributes, int attribute_count);
// Records a variable; name and sizes are copied.
void leat_scope_add_variable(leat_scope_t* scope, TF_Output handle, TF_Operation* initializer,
                             const char* name, TF_DataType dtype, int rank, const int64_t* dims,
                             int trainable);
// Adds an untrained variable that begins as |value|, and returns its reference. A name that is
// taken gets a number, because two optimizers may keep slots for one variable.
TF_Output leat_scope_add_slot(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                              const int64_t* dims, double value);

#endif  // LEAT_CLIENT_SCOPE_H_
