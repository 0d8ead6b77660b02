/* leat/inspect.h: looking at what this library has and does. */
#ifndef LEAT_INSPECT_H_
#define LEAT_INSPECT_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0", and the TensorFlow version whose API and semantics it follows is TF_Version(). */
TF_CAPI_EXPORT extern const char* leat_version(void);

/* Every op registered: JSON, an array of {"name", "doc", "inputs", "outputs", "attributes",
 * "stateful", "gradient", "kernels": [{"device", "types"}]}. The caller deletes the buffer. */
TF_CAPI_EXPORT extern TF_Buffer* leat_ops_json(TF_Status* status);

/* What the machine is and what it reaches, as JSON: cpu, isa, cores, modules; with |measure| != 0
 * also flops, bandwidth, wake-up times (takes about two seconds). */
TF_CAPI_EXPORT extern TF_Buffer* leat_doctor_json(int measure, TF_Status* status);

/* A serialised protocol message of TensorFlow's (|type|: "GraphDef", "Event", "RunMetadata",
 * "MetaGraphDef", "SavedModel", "OpDef", ...) as text, and back. The caller deletes the buffer. */
TF_CAPI_EXPORT extern TF_Buffer* leat_message_to_text(const char* type, const TF_Buffer* message,
                                                      TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* leat_message_from_text(const char* type, const TF_Buffer* text,
                                                        TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_INSPECT_H_ */
