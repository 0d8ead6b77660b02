// Puts what NVIDIA's GPUs did into recordings, where there are any. The program's own CUDA, or that
// of a device that it loaded, is watched through CUPTI (trace/gpu_module.h) while a recording is
// under way; when it ends, the GPU's records become spans (trace/gpu_spans.h).
//
// LEAT_CUPTI in the environment names the library to use; "off": none. LEAT_CUDA names the driver's
// library whose presence is the sign of a GPU, in the place of libcuda.so.1.
#ifndef LEAT_TRACE_GPU_SOURCE_H_
#define LEAT_TRACE_GPU_SOURCE_H_

// Makes recordings that begin from now on ask for GPUs. Any thread, any number of times.
void leat_gpu_source_install(void);
// Looks once more for a driver, where a recording is under way that found none as it began: called
// after a library was loaded or a device was opened. It costs a load where nothing is recorded. May
// block on the disk.
void leat_gpu_source_look(void);

#endif  // LEAT_TRACE_GPU_SOURCE_H_
