// A recording of a whole process, which the environment asks for: LEAT_TRACE names a file. It
// begins with the first use of the library and is written when the process exits, so that a program
// needs no change to be recorded. "%p" in the name becomes the number of the process, for programs
// that start others. The variable LEAT_TRACE_MB says how many megabytes of spans are kept (256).
// With LEAT_TRACE_FLIGHT, "slow=3 steps=50 failure signal=12 files=4", only the last steps are
// written, and only when one was slow or failed or the signal came (trace/flight.h); "%n" in the
// name becomes the number of the file.
#ifndef LEAT_TRACE_RECORDING_PROCESS_H_
#define LEAT_TRACE_RECORDING_PROCESS_H_

// Begins the recording if the environment asks for one. To be called once in a process.
void leat_recording_begin_process(void);

#endif  // LEAT_TRACE_RECORDING_PROCESS_H_
