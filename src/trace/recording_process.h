// A recording of a whole process, which the environment asks for: LEAT_TRACE names a file. It
// begins with the first use of the library and is written when the process exits, so that a program
// needs no change to be recorded. "%p" in the name becomes the number of the process, for programs
// that start others. The variable LEAT_TRACE_MB says how many megabytes of spans are kept (256).
#ifndef LEAT_TRACE_RECORDING_PROCESS_H_
#define LEAT_TRACE_RECORDING_PROCESS_H_

// Begins the recording if the environment asks for one. To be called once in a process.
void leat_recording_begin_process(void);

#endif  // LEAT_TRACE_RECORDING_PROCESS_H_
