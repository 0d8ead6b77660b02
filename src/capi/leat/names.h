// The names that a graph has given out (leat/names.h). It lies in the TF_Graph; whoever uses it
// holds the graph's lock.
#ifndef LEAT_CAPI_LEAT_NAMES_H_
#define LEAT_CAPI_LEAT_NAMES_H_

typedef struct leat_capi_names_s leat_capi_names_t;

// NULL is allowed.
void leat_capi_names_free(leat_capi_names_t* names);

#endif  // LEAT_CAPI_LEAT_NAMES_H_
