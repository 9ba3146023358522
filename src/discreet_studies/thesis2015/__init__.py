"""thesis2015: private Bernoulli Naive Bayes and feature selection, and private logistic regression, part by part."""
