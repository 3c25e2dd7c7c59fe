"""Decoding: at each place the most likely token that the grammar allows.

llama.cpp's own chain tests the whole vocabulary against the grammar at each token, which with 150,000 tokens takes as
long as a small model itself. Here the token that the model wants is tested alone, and the others only where it is
refused. At temperature 0 the token found is the same as that of the chain.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

LONGEST_PIECE = 512
"""Bytes of one token's text."""
_ENTRY = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
Ids = NDArray[np.int32]


class Stuck(Exception):
    """No token of the vocabulary goes on with the grammar."""


class Grammar:
    """One grammar and how far it has been followed."""

    def __init__(self, sampler: Any) -> None:
        """Take a sampler of llama.cpp that is freed by whoever made it."""
        self._sampler = sampler

    def passes(self, ids: Ids) -> NDArray[np.bool_]:
        """Tell of each token whether it may come next."""
        if not len(ids):
            return np.zeros(0, np.bool_)
        entries = np.zeros(len(ids), _ENTRY)
        entries["id"] = ids
        data = entries.ctypes.data_as(llama_cpp.llama_token_data_p)
        array = llama_cpp.llama_token_data_array(data=data, size=len(ids), selected=-1, sorted=False)
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(array))
        passed: NDArray[np.bool_] = np.isfinite(entries["logit"])
        return passed

    def accept(self, token: int) -> None:
        """Go on by one token."""
        llama_cpp.llama_sampler_accept(self._sampler, token)


@dataclass(frozen=True)
class DecodedTokens:
    """What was decoded."""

    tokens: tuple[int, ...]
    ended: str
    """stop: the model or the grammar ended it; length: there was no room for more."""


class Decoder:
    """Decodes with one loaded model; one call at a time."""

    def __init__(self, model: Any) -> None:
        """Take a `llama_cpp.Llama`."""
        self.model = model
        self.vocabulary = llama_cpp.llama_model_get_vocab(model.model)
        self.model_s = 0.0
        """Seconds that the model itself took for the last answer, prompt included; the rest is the grammar's."""
        self.prompt_s = 0.0
        """Of those, for the prompt."""
        self.reused = 0
        """Tokens of the last prompt that were kept from the one before."""
        self._before: Sequence[int] = ()
        """The last prompt: its tokens were evaluated in batches, those decoded after it were not."""

    def decode(self, prompt: Sequence[int], grammar: str, most: int, temperature: float, seed: int) -> DecodedTokens:
        """Continue a prompt by at most so many tokens; raises ValueError for a grammar that cannot be read."""
        chance = np.random.default_rng(seed)
        with self._opened(grammar) as rules:
            self.model_s = self.prompt_s = self._timed(lambda: self._begin(prompt))
            found: list[int] = []
            while len(found) < most:
                token = self._next(rules, temperature, chance)
                if llama_cpp.llama_vocab_is_eog(self.vocabulary, token):
                    return DecodedTokens(tuple(found), "stop")
                found.append(token)
                if rules is not None:
                    rules.accept(token)
                    if self._complete(rules):
                        return DecodedTokens(tuple(found), "stop")
                self.model_s += self._timed(partial(self.model.eval, [token]))
            return DecodedTokens(tuple(found), "length")

    @staticmethod
    def _timed(do: Callable[[], object]) -> float:
        began = time.perf_counter()
        do()
        return time.perf_counter() - began

    def text(self, tokens: Sequence[int]) -> str:
        """Write tokens as text; what is no UTF-8 shows as such."""
        return b"".join(map(self._piece, tokens)).decode(errors="replace")

    @contextmanager
    def _opened(self, grammar: str) -> Iterator[Grammar | None]:
        """Have llama.cpp read a grammar: a bad one, once in use, would end the process."""
        if not grammar:
            yield None
            return
        sampler = llama_cpp.llama_sampler_init_grammar(self.vocabulary, grammar.encode(), b"root")
        if not sampler:
            raise ValueError("llama.cpp does not understand the grammar")
        try:
            yield Grammar(sampler)
        finally:
            llama_cpp.llama_sampler_free(sampler)

    def _begin(self, prompt: Sequence[int]) -> None:
        """Evaluate the prompt; of what was evaluated before, whole batches that are the same are kept.

        A batch is always cut at the same places, so that each sum is made of the same parts as after a cold start.
        """
        model, batch = self.model, self.model.n_batch
        same = 0
        for old, new in zip(self._before, prompt[:-1], strict=False):
            if old != new:
                break
            same += 1
        keep = same // batch * batch
        if keep and not llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(model.ctx), 0, keep, -1):
            keep = 0
        if not keep:
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(model.ctx), True)
        self._before, model.n_tokens, self.reused = (), keep, keep
        model.eval(prompt[keep:])
        self._before = prompt

    def _next(self, rules: Grammar | None, temperature: float, chance: np.random.Generator) -> int:
        pointer = llama_cpp.llama_get_logits_ith(self.model.ctx, -1)
        logits = np.ctypeslib.as_array(pointer, shape=(self.model.n_vocab(),))
        if temperature == 0:
            wanted = int(np.argmax(logits))
            if rules is None or rules.passes(np.array([wanted], np.int32))[0]:
                return wanted
        ids = self._every if rules is None else self._allowed(rules)
        if not len(ids):
            raise Stuck
        if temperature == 0:
            return int(ids[np.argmax(logits[ids])])
        scaled = logits[ids].astype(np.float64) / temperature
        weights = np.exp(scaled - scaled.max())
        return int(chance.choice(ids, p=weights / weights.sum()))

    def _allowed(self, rules: Grammar) -> Ids:
        return self._every[rules.passes(self._every)]

    def _complete(self, rules: Grammar) -> bool:
        """Tell whether nothing but the end may come, so that the model need not be asked."""
        if not (len(self._ends) and rules.passes(self._ends[:1])[0]):
            return False
        return bool(np.isin(self._allowed(rules), self._ends).all())

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(LONGEST_PIECE)
        length = llama_cpp.llama_token_to_piece(self.vocabulary, token, buffer, LONGEST_PIECE, 0, True)
        return buffer.raw[: max(0, length)]

    @cached_property
    def _every(self) -> Ids:
        return np.arange(self.model.n_vocab(), dtype=np.int32)

    @cached_property
    def _ends(self) -> Ids:
        ends = [int(token) for token in self._every if llama_cpp.llama_vocab_is_eog(self.vocabulary, int(token))]
        return np.array(ends, np.int32)
