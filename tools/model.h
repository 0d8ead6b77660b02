// Models opened to be run: a GraphDef, a MetaGraphDef with its checkpoint, a SavedModel.
#ifndef LEAT_TOOLS_MODEL_H_
#define LEAT_TOOLS_MODEL_H_

#include "leat/inspect.h"
#include "leat/saved_model.h"

#define MODEL_MOST_TAGS 16

typedef struct model_source_s {
  const char* path;        // a file, or the directory of a SavedModel
  const char* checkpoint;  // of a MetaGraphDef; NULL: the one of its name, if there is one
  const char* tags[MODEL_MOST_TAGS];  // of a SavedModel; none: its only graph, or "serve"
  int tag_count;
} model_source_t;

typedef struct model_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
  leat_message_t* message;  // the MetaGraphDef; NULL for a GraphDef
  TF_Buffer* bytes;
} model_t;

// false, with a complaint, when there are too many.
int model_source_add_tag(model_source_t* source, const char* command, const char* tag);
// Does |path| name a directory?
int model_is_directory(const char* path);
// Exit codes; what is wrong has been complained about. Close it in any case.
int model_open(const model_source_t* source, model_t* out_model);
void model_close(model_t* model);
// The SignatureDef; absent, with a complaint that lists what there is.
leat_message_view_t model_signature(const model_t* model, const char* name);
// The name ("x:0") of the tensor that |signature| calls |name| among its |field|, "inputs" or
// "outputs", in |out_tensor|; false when it has none of that name.
int model_signature_tensor(leat_message_view_t signature, const char* field, const char* name,
                           char* out_tensor, size_t room);

#endif  // LEAT_TOOLS_MODEL_H_
