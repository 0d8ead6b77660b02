// The program leat as one file, for an image that holds nothing else (deploy/image/Dockerfile). The
// program usually opens the module with the gRPC C core as a shared library when the first server
// or channel needs it; a static program cannot open one, so here the module is linked in, and the
// library is told so before the command runs. The other modules (oneDNN, zlib, formats of images)
// are absent: what needs them says so or has a portable kernel. The build renames the program's own
// main to leat_main; docs/decisions/0040 has the sizes.
#include "cluster/rpc_module.h"

int leat_main(int argc, char** argv);

int main(int argc, char** argv) {
  leat_rpc_use_module(leat_module_grpc());
  return leat_main(argc, argv);
}
