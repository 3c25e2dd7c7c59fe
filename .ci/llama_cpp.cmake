# Included where llama-cpp-python's build names its project: of llama.cpp only the library is wanted, without what its own
# programs share (the package asks for that by a cached value, before which this one goes) and without pictures and
# sound, a third of the compiling each; at -O1, which halves what is left: the models of the tests have few weights.
set(LLAMA_BUILD_COMMON OFF)
set(LLAVA_BUILD OFF)
set(CMAKE_C_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
