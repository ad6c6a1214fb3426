"""The recipe of the bundled demo pair: corpus, tokenizer, models, training, export, evaluation."""
