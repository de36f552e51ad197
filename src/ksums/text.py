"""Texts as rows of numbers, prepared as by the paper's authors."""

from __future__ import annotations

import numbers

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data


class TfIdf(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Term counts to tf · ln(N/df), each row scaled to unit l2 length.

    tf is the count of a term in a text, df the number of texts that have it, N the number of texts. Unlike
    scikit-learn's ``TfidfTransformer`` it adds nothing to either, so a term of every text has the weight 0.

    Parameters
    ----------
    min_df : int, default=1
        Terms in fewer texts get the weight 0. The paper's authors keep all; terms in a single text change results.

    Attributes
    ----------
    idf_ : ndarray of shape (d,)
        ln(N/df) of each term; 0 for terms of no text, or of fewer than ``min_df``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from ksums import KSums
    >>> from ksums.text import TfIdf
    >>> texts = ["red apple", "green apple pie", "blue sea", "deep blue sea"]
    >>> pipeline = make_pipeline(CountVectorizer(), TfIdf(), KSums(2, metric="cosine", random_state=0))
    >>> labels = pipeline.fit_predict(texts)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(self, min_df=1):
        self.min_df = min_df

    def fit(self, X, y=None):
        """Learn the weights of the terms from counts X of shape (n, d), an array or sparse."""
        if not isinstance(self.min_df, numbers.Integral) or isinstance(self.min_df, bool) or self.min_df < 1:
            raise ValueError(f"TfIdf: min_df must be an integer of at least 1; got {self.min_df!r}.")
        X = self._counts(X, reset=True)
        texts = np.bincount(X.nonzero()[1], minlength=X.shape[1])
        kept = (texts >= self.min_df) & (texts > 0)
        self.idf_ = np.zeros(X.shape[1])
        self.idf_[kept] = np.log(X.shape[0] / texts[kept])
        return self

    def transform(self, X):
        """Weighted rows of unit length, sparse where X is; a row without any term of weight stays zero."""
        check_is_fitted(self)
        X = self._counts(X, reset=False)
        if not sparse.issparse(X):
            return normalize(X * self.idf_.astype(X.dtype))
        X = sparse.csr_array(X, copy=True)
        X.data *= self.idf_.astype(X.dtype)[X.indices]
        X.eliminate_zeros()
        return normalize(X, copy=False)

    def _counts(self, X, *, reset: bool):
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError(
                "Negative values in data passed to TfIdf: it takes counts of terms, which are >= 0; got "
                f"{values.min():g}."
            )
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
