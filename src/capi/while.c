// While loops built from two graphs. They come with the control flow families.
#include "capi/handles.h"

TF_WhileParams TF_NewWhile(TF_Graph* g, TF_Output* inputs, int ninputs, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_NewWhile");
  return (TF_WhileParams){.ninputs = 0, .cond_output = {NULL, -1}};
}

void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status, TF_Output* outputs) {
  leat_capi_status_unimplemented(status, "TF_FinishWhile");
}

void TF_AbortWhile(const TF_WhileParams* params) {}

void TF_AddWhileInputHack(TF_Graph* graph, TF_Output new_src, TF_Operation* dst,
                          TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_AddWhileInputHack");
}
