"""Configuration fields that change no function: bookkeeping of checkpoints, training and generation."""

# fmt: off
# Found in published config.json files.
HARMLESS = frozenset({
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_experts_implementation",
    "_model_name_or_path", "_name_or_path", "architectures",
    "attention_probs_dropout_prob", "attn_implementation", "auto_map", "aux_loss_alpha", "bos_token_id",
    "cache_implementation", "classifier_dropout", "directionality", "do_sample", "dtype", "embd_pdrop",
    "eos_token_id", "ep_size", "experts_implementation", "gradient_checkpointing", "id2label",
    "initializer_range", "label2id", "language", "max_length", "max_window_layers", "model_type", "n_ctx",
    "num_nextn_predict_layers", "output_past", "pad_token_id", "pooler_fc_size", "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "predict_special_tokens", "pretraining_tp",
    "problem_type", "quantization_config", "resid_pdrop", "seq_aux", "task_specific_params", "torch_dtype",
    "transformers_version", "use_cache", "vocab_file",
})
# What `PreTrainedConfig.to_dict` wrote in earlier versions for every model: defaults of text generation and the like.
WRITTEN_BY_TRANSFORMERS = frozenset({
    "add_cross_attention", "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
    "forced_eos_token_id", "is_decoder", "is_encoder_decoder", "length_penalty", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_attentions", "output_hidden_states",
    "output_scores", "prefix", "pruned_heads", "remove_invalid_values", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "sep_token_id", "suppress_tokens", "temperature", "tf_legacy_loss",
    "tie_encoder_decoder", "tie_word_embeddings", "tokenizer_class", "top_k", "top_p", "torchscript",
    "transformers.js_config", "typical_p", "use_bfloat16",
})
# Of these, those that change the function unless they are unset.
CHANGING = frozenset({"add_cross_attention", "is_encoder_decoder", "pruned_heads", "tie_encoder_decoder"})
# fmt: on
