/* leat/names.h: names of operations and name scopes, unique in a graph.
 *
 * A front end asks for a name before it adds an operation or enters a scope. The rule is that of
 * TensorFlow 1: names that differ in case alone are taken as the same, the second "x" is called
 * "x_1", the third "x_2". A scope is a name like any other, which the front end asks for when it
 * enters the scope. Names of operations that came with a GraphDef count as well. Any thread may
 * ask. */
#ifndef LEAT_NAMES_H_
#define LEAT_NAMES_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* |name|, or |name| with the first "_1", "_2", ... that makes it new in |graph|. With |mark| != 0
 * it is taken from then on, also when no operation gets it; with 0 a second call gives it again.
 * Freed with free(); NULL with INVALID_ARGUMENT where |name| is NULL, or RESOURCE_EXHAUSTED.
 *
 *   char* scope = leat_unique_name(graph, "tower", 1, status);   // "tower"
 *   char* second = leat_unique_name(graph, "tower", 1, status);  // "tower_1"                  */
TF_CAPI_EXPORT extern char* leat_unique_name(TF_Graph* graph, const char* name, int mark,
                                             TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_NAMES_H_ */
