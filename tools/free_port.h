// Ports for servers that other processes start later.
#ifndef LEAT_TOOLS_FREE_PORT_H_
#define LEAT_TOOLS_FREE_PORT_H_

#include <stdbool.h>

// A TCP port that no server of this machine has, and that nobody gets by chance before the server
// starts: it lies below the ports that the system gives to connections by itself, and this process
// holds a lock of it until it ends, which `leat launch` and the tests heed. 0: there is none.
int take_free_port(void);
// Whether a server could listen at |port| now.
bool is_free_port(int port);

#endif  // LEAT_TOOLS_FREE_PORT_H_
