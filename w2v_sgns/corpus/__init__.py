"""From text to token ids: sources, the compiled scanner, the vocabulary, the token store.

Importing this does not import Numba; :func:`load_corpus` does.
"""

from w2v_sgns.corpus.load import load_corpus
from w2v_sgns.corpus.stats import Corpus, CorpusStats
from w2v_sgns.corpus.store import LINE_END, TokenStore
from w2v_sgns.corpus.vocabulary import Vocabulary

__all__ = ["LINE_END", "Corpus", "CorpusStats", "TokenStore", "Vocabulary", "load_corpus"]
