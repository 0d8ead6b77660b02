// Reads which arguments of an op are lists from the OpDef that the graph gives. The client
// functions take a flat list of inputs, while the C API must be told which of them form a list, so
// that the op's declaration is needed to divide them. It is read when the op is first used. Inputs
// are divided by three rules: an argument that is no list takes one input; a list whose length an
// attribute states takes so many; the other lists share what is left equally.
#include <stdlib.h>
#include <string.h>

#include "client/scope.h"
#include "leat/inspect.h"

// Copies a text field; NULL for an empty one. |*out_ok| is 0 where there is no memory.
static char* copy_field(leat_message_view_t view, const char* field, int* out_ok) {
  size_t size;
  const char* text = leat_message_string(view, field, 0, &size);
  char* copy = size ? strndup(text, size) : NULL;
  *out_ok = !size || copy;
  return copy;
}

static int fill(leat_op_signature_t* signature, leat_message_view_t def) {
  size_t count = leat_message_count(def, "input_arg");
  int ok = 1;
  signature->arguments = calloc(count + 1, sizeof *signature->arguments);
  if (!signature->arguments) return 0;
  signature->count = (int)count;
  for (size_t i = 0; ok && i < count; ++i) {
    leat_signature_argument_t* argument = &signature->arguments[i];
    leat_message_view_t declared = leat_message_child(def, "input_arg", i);
    size_t types;
    leat_message_string(declared, "type_list_attr", 0, &types);
    argument->length = copy_field(declared, "number_attr", &ok);
    argument->is_list = argument->length || types > 0;
  }
  return ok;
}

leat_op_signature_t* leat_signature_create(TF_Graph* graph, const char* op, TF_Status* status) {
  TF_Buffer* bytes = TF_NewBuffer();
  leat_message_t* message = NULL;
  leat_op_signature_t* signature = calloc(1, sizeof *signature);
  if (bytes) TF_GraphGetOpDef(graph, op, bytes, status);
  if (bytes && TF_GetCode(status) == TF_OK) message = leat_message_open("OpDef", bytes, status);
  int ok = message && signature && (signature->op = strdup(op)) &&
           fill(signature, leat_message_view(message));
  leat_message_close(message);
  TF_DeleteBuffer(bytes);
  if (ok) return signature;
  leat_signature_free(signature);
  if (TF_GetCode(status) == TF_OK) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for an op's declaration");
  }
  return NULL;
}

void leat_signature_free(leat_op_signature_t* signatures) {
  while (signatures) {
    leat_op_signature_t* next = signatures->next;
    for (int i = 0; i < signatures->count; ++i) free(signatures->arguments[i].length);
    free(signatures->arguments);
    free(signatures->op);
    free(signatures);
    signatures = next;
  }
}

// The length of a list, if one of the attributes states it, and -1 otherwise.
static int stated_length(const leat_signature_argument_t* argument,
                         const leat_attribute_t* attributes, int count) {
  for (int i = 0; argument->length && i < count; ++i) {
    if (attributes[i].kind == 'i' && !strcmp(attributes[i].name, argument->length)) {
      return (int)attributes[i].integer;
    }
  }
  return -1;
}

int leat_signature_share(const leat_op_signature_t* signature, int index, int input_count,
                         const leat_attribute_t* attributes, int attribute_count) {
  const leat_signature_argument_t* wanted = &signature->arguments[index];
  if (!wanted->is_list) return 1;
  int stated = stated_length(wanted, attributes, attribute_count);
  if (stated >= 0) return stated;
  int left = input_count, open = 0;
  for (int i = 0; i < signature->count; ++i) {
    const leat_signature_argument_t* argument = &signature->arguments[i];
    int length = argument->is_list ? stated_length(argument, attributes, attribute_count) : 1;
    if (length >= 0) {
      left -= length;
    } else {
      ++open;
    }
  }
  return left < 0 || left % open ? -1 : left / open;
}
