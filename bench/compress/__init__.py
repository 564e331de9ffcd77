"""compress against pandas, scikit-learn's encoders and its k-means: time, memory, what is kept."""
