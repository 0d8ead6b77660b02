// Reading counters (c_api_experimental.h) by their name, as tests of programs do.

#ifndef TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_READER_H_
#define TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_READER_H_

#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// Tells how far the counter called |name| has counted since the reader was made; the counter may be
// made later. A reader is never deleted. NULL when memory runs out.
typedef struct TFE_MonitoringCounterReader TFE_MonitoringCounterReader;
TF_CAPI_EXPORT TFE_MonitoringCounterReader* TFE_MonitoringNewCounterReader(const char* name);
// Of a counter without labels, and of the cell with the label |label_value|. 0 when there is none.
TF_CAPI_EXPORT int64_t TFE_MonitoringReadCounter0(TFE_MonitoringCounterReader* cell_reader);
TF_CAPI_EXPORT int64_t TFE_MonitoringReadCounter1(TFE_MonitoringCounterReader* cell_reader,
                                                  const char* label_value);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_READER_H_
