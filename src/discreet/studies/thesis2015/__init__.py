"""thesis2015: private Naive Bayes, feature selection and logistic regression, in parts."""
