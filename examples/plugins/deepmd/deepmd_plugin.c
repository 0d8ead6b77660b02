// The ops of DeePMD-kit that its frozen models need, so that any runtime with TensorFlow's C API
// runs these models: a deep potential is a graph of ordinary ops between ProdEnvMatA, which turns
// coordinates into the network's input, and ProdForceSeA and ProdVirialSeA, which turn the
// derivatives of the energy by that input into forces and into the virial. The library is written
// against tensorflow/c/{ops,kernels,tf_tensor}.h alone and linked against nothing: the program that
// loads it with TF_LoadLibrary has the functions.
//
//   coord, type, natoms, box, mesh -> ProdEnvMatA -> descrpt -> networks -> energy
//                                          |                                  |  (gradient, in the
//                                     descrpt_deriv, rij, nlist           net_deriv   same graph)
//                                          +------> ProdForceSeA, ProdVirialSeA <--+
//
//   env_mat.c    ProdEnvMatA (also named DescrptSeA and DescrptNorot), ProdEnvMatR (DescrptSeR),
//                ProdEnvMatAMix
//   force.c      ProdForceSeA (ProdForceNorot), ProdForceSeR
//   virial.c     ProdVirialSeA (ProdVirialNorot), ProdVirialSeR
//   mask.c       DescrptSeAMask, ProdForceSeAMask
//   pairwise.c   DprcPairwiseIdx
//   neighbor.c   which atoms are within the cutoff: periodic images, cells, sorted neighbor lists
//   call.c       inputs, outputs, messages, registration
//
// To train, a graph would also need the gradients of ProdForceSeA and ProdVirialSeA by net_deriv
// (ProdForceSeAGrad, ProdVirialSeAGrad and their kin, for losses of forces), and the host language
// would have to register them as gradient functions; a frozen graph holds none of these. Compressed
// models would need TabulateFusionSeA and its kin.
#include "call.h"

// Runs when the library is loaded. Where an op of that name is there already (DeePMD-kit's own
// library is loaded too) the rest is not registered.
__attribute__((constructor)) static void register_all(void) {
  TF_Status* status = TF_NewStatus();
  deepmd_register_env_mat(status);
  deepmd_register_force(status);
  deepmd_register_virial(status);
  deepmd_register_mask(status);
  deepmd_register_pairwise(status);
  TF_DeleteStatus(status);
}
