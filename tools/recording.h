// The values of a step that another program recorded: an .npz file of numpy, whose arrays have the
// names of tensors ("layer/MatMul:0"), or a folder with an .npy file for each (layer/MatMul:0.npy).
#ifndef LEAT_TOOLS_RECORDING_H_
#define LEAT_TOOLS_RECORDING_H_

#include <stdbool.h>

#include "tensorflow/c/c_api.h"

typedef struct recording_s recording_t;

// Whether a path is that of a recording, as opposed to a graph or a model.
bool recording_is(const char* path);
// NULL with |status| set, which names the file.
recording_t* recording_open(const char* path, TF_Status* status);
void recording_close(recording_t* recording);
// The value of a tensor, which the caller deletes; NULL where it was not recorded, or, with
// |status| set, where it cannot be read.
TF_Tensor* recording_read(const recording_t* recording, const char* tensor, TF_Status* status);

// Writes a value into the folder |path|, which is made where there is none.
void recording_write(const char* path, const char* tensor, const TF_Tensor* value,
                     TF_Status* status);

#endif  // LEAT_TOOLS_RECORDING_H_
