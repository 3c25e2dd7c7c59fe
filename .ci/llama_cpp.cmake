# Included where llama-cpp-python's build names its project: of llama.cpp only the library is wanted, not what its own
# programs share, which takes longer to compile. The package asks for that by a cached value, before which this one goes.
set(LLAMA_BUILD_COMMON OFF)
