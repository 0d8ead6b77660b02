// Opens models so that they can be run: a GraphDef, a MetaGraphDef with its checkpoint, or a
// SavedModel.
#ifndef LEAT_TOOLS_MODEL_H_
#define LEAT_TOOLS_MODEL_H_

#include "leat/inspect.h"
#include "leat/saved_model.h"

#define MODEL_MOST_TAGS 16

typedef struct model_source_s {
  const char* path;        // a file, or the directory of a SavedModel
  const char* checkpoint;  // of a MetaGraphDef; NULL: the one with its name, if there is one
  const char* tags[MODEL_MOST_TAGS];  // of a SavedModel; none: those of its only graph, or "serve"
  int tag_count;
} model_source_t;

typedef struct model_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
  leat_message_t* message;  // the MetaGraphDef; NULL for a GraphDef
  TF_Buffer* bytes;  // what |message| views
} model_t;

// Adds a tag. Returns false, with a complaint, when there are too many.
int model_source_add_tag(model_source_t* source, const char* command, const char* tag);
// Returns whether |path| names a directory.
int model_is_directory(const char* path);
// Opens a model; returns an exit code and has complained about what is wrong. model_close must be
// called in any case.
int model_open(const model_source_t* source, model_t* out_model);
void model_close(model_t* model);
// Returns the SignatureDef |name|. Where there is none, its data are NULL, and it has complained
// with a list of those that there are.
leat_message_view_t model_signature(const model_t* model, const char* name);
// Writes to |out_tensor| the name of the tensor, such as "x:0", that |signature| calls |name| in
// |field|, which is "inputs" or "outputs". Returns false where it has no such name.
int model_signature_tensor(leat_message_view_t signature, const char* field, const char* name,
                           char* out_tensor, size_t room);

#endif  // LEAT_TOOLS_MODEL_H_
