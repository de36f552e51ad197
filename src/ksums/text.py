"""Term counts of texts as weighted rows, prepared as by the paper's authors."""

from __future__ import annotations

import numbers

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data


class TfIdf(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turns term counts into tf · ln(N/df), and scales each row to unit l2 length.

    tf is the count of a term in a text, df the number of texts that contain the term, N the number of texts. Unlike
    scikit-learn's ``TfidfTransformer``, it smooths nothing: a term that is in every text has weight 0.

    Parameters
    ----------
    min_df : int, default=1
        Terms in fewer texts get weight 0. The paper's authors keep all terms; leaving out terms that are in a single
        text changes results.

    Attributes
    ----------
    idf_ : ndarray of shape (d,)
        ln(N/df) of each term; 0 for terms that are in no text, or in fewer than ``min_df``.
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
        """Learn the weight of each term.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Term counts.
        y : ignored

        Returns
        -------
        self
        """
        if not isinstance(self.min_df, numbers.Integral) or isinstance(self.min_df, bool) or self.min_df < 1:
            raise ValueError(f"TfIdf: min_df must be an integer of at least 1; got {self.min_df!r}.")
        X = self._counts(X, reset=True)
        df = np.bincount(X.nonzero()[1], minlength=X.shape[1])
        kept = (df >= self.min_df) & (df > 0)
        self.idf_ = np.zeros(X.shape[1])
        self.idf_[kept] = np.log(X.shape[0] / df[kept])
        return self

    def transform(self, X):
        """Weight the counts and scale each row to unit length; a row whose terms all have weight 0 becomes zeros.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Term counts.

        Returns
        -------
        ndarray or CSR array of shape (n, d)
            Sparse if X is sparse.
        """
        check_is_fitted(self)
        X = self._counts(X, reset=False)
        if not sparse.issparse(X):
            return normalize(X * self.idf_.astype(X.dtype))
        X = sparse.csr_array(X, copy=True)
        X.data *= self.idf_.astype(X.dtype)[X.indices]
        X.eliminate_zeros()
        return normalize(X, copy=False)

    def _counts(self, X, *, reset: bool):
        """X as checked counts."""
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError(
                "Negative values in data passed to TfIdf: X must hold term counts, which are >= 0; got "
                f"{values.min():g}."
            )
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
