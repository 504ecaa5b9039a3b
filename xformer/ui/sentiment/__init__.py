"""The parts of the Sentiment tab: models of film reviews, the classifier and the language model that it began as."""
