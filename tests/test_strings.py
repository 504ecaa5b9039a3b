"""Both languages say everything, with the same values in it."""

import re
from inspect import signature
from pathlib import Path

import pytest

from tests.harness import modules
from xformer.explain import principles as walkthrough
from xformer.parts.principles import part as walkthrough_tab
from xformer.results import PARTS, Message, UserError
from xformer.serve.protocol import LARGEST_SEED, WIDEST
from xformer.strings import ENGLISH, SPANISH, of_parts
from xformer.training import live
from xformer.ui import page
from xformer.ui.parts import Parts

PLACES = re.compile(r"\{(\w+)\}")
# The texts in which a figure stands as it is, and why it may. What was measured, or is
# of one model, has a {place} and comes from the data: with other weights or another
# machine the sentence would be false.
LITERAL = {
    "a year, a name or a number in a paper": """
        arch_names_d2l arch_seq2seq arch_text_post arch_text_pre bleu_score_notes bleu_score_paper bleu_text
        force_smoothing_info gen_column_work
        gen_costs_text first_text_slice gen_gru gen_gru_attention gen_post_norm gen_pre_norm gen_trained_text
        layers_caution learned_note lecture_note occlusion_text path_look pos_power_info pos_text_table
        recorded_look_order shares_gap_text rule_rollout rule_rollout_cross rule_weigh sink_meter sizes_vocabularies
        train_beginning_text unmasked_layers unmasked_time unmasked_words vocab_splits_text weigh_before weigh_total
        weigh_with why_sides_note why_way_0_said why_way_1_said""",
    "part of a formula or a definition": """
        attention_note attention_note_empty bleu_brevity bleu_no_match bleu_lab_brevity bleu_short bleu_why_notes
        bleu_why_paper bleu_why_sacre bleu_zero bugs_sign_after bugs_sign_queries effect_text first_axis_slope
        first_hover_slope first_inputs first_inputs_turned first_output first_scores first_slices first_split
        first_text_additive first_text_inputs first_text_scores first_text_switches first_text_variance first_values
        first_vectors kernel_look kernel_nearest kernel_power_info kernel_said_nearest learned_look
        live_schedule_cosine live_schedule_noam maps_compare_text model_line_gru_attention part_scaling pos_power
        rest_fire rest_strips rest_text_units review_agree review_why_text rivals_heads rivals_rows rule_words
        store_even tree_why_shorter weigh_axis_beta weigh_kind_zeroed weigh_text_after weigh_text_beta
        weigh_text_queries weigh_text_zeroed
        lesson_said_brevity lesson_said_column_sum lesson_said_kernel lesson_said_leaked
        lesson_said_mutual lesson_said_repeats lesson_said_sum_after lesson_said_units_on
        first_text_mutual pos_joined_layer shares_chance""",
    "the end of a scale, or where counting begins": """
        address_several aligns_given aligns_predicted autoencoder_code beam_info energy_error_count error_beam
        error_slide error_smoothing error_step error_tree_sampling first_error_head first_error_padding
        first_power_info kernel_error_count layers_none
        film_long legend_sure legend_unsure lens_embedded lens_text lens_text_post lm_temperature_info lm_top_k
        lm_window mean_axes pos_error_shift pos_neighbours pos_plot_table rest_after_layer sampling_text shares_text
        sizes_decoder_layers
        store_error_count store_records_info temperature_info top_k_info train_layer vocab_after_0
        vocab_layer weigh_error_beta weigh_power_info""",
    "an example": "pos_joined_first pos_text_joined address_lock error_head error_lock calibration_text form_none",
    "a constant of the code, see below": """
        first_text_split first_variance live_text train_error_seed train_error_shape""",
}
SOURCES = [
    *modules("xformer"),
    *of_parts("*.html"),
    *Path("assets/html").glob("*.html"),
    Path("app.py"),
]


def test_both_languages_have_the_same_texts_with_the_same_values():
    english = ENGLISH.texts
    spanish = SPANISH.texts
    assert english.keys() == spanish.keys()
    for key in english:
        assert set(PLACES.findall(english[key])) == set(PLACES.findall(spanish[key])), (
            key
        )
        assert english[key].strip() and spanish[key].strip(), key


def test_a_figure_stands_in_a_text_only_where_nothing_can_make_it_false():
    listed = [key for keys in LITERAL.values() for key in keys.split()]
    found = {
        key
        for texts in (ENGLISH.texts, SPANISH.texts)
        for key, text in texts.items()
        if re.search(r"\d", PLACES.sub("", text))
    }
    assert found == set(listed) and len(listed) == len(found), (
        "fill it in from data, or list it with a reason"
    )


@pytest.mark.parametrize(
    ("key", "constants"),
    [
        ("first_text_split", walkthrough_tab.HEADS),
        (
            "first_variance",
            [
                walkthrough.KEYS
                * signature(walkthrough.variance).parameters["samples"].default
            ],
        ),
        ("live_text", [live.WIDTH, live.HEADS, live.BATCH, live.HELD_OUT]),
        ("train_error_seed", [0, LARGEST_SEED]),
        ("train_error_shape", [1, *range(32, WIDEST + 1, 32)]),
    ],
)
def test_figures_of_the_code_are_those_of_the_code(key, constants):
    for language in (ENGLISH, SPANISH):
        found = re.findall(
            r"\d{1,3}(?:[,\s]\d{3})+|\d+", PLACES.sub("", language.texts[key])
        )
        found = [int(re.sub(r"\D", "", one)) for one in found]
        assert found == [*constants], language.code


def test_a_text_is_the_name_of_one_part():
    """Of a tab, or of a model; and code that says one by its whole key means another
    thing by it."""
    shown = [
        tab.tab.name.format(part.ID)
        for tab in page.TABS
        if isinstance(tab, Parts)
        for part in tab.parts
    ]
    named = [*shown, *(f"part_{name}" for name in PARTS)]
    assert len(named) == len({*named}) > 20 and {*named} <= {*ENGLISH.texts}
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert not [key for key in named if re.search(rf"""["']{key}["']""", code)]


def test_every_text_is_used_somewhere():
    """A key stands in the code as a whole, or as a stem that a value is put behind:
    f"role_{name}"."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    whole = set(re.findall(r"""["'](\w+)["']""", code))
    stems = tuple(stem for stem in re.findall(r"""["'](\w+_)\{""", code)) + (
        "picture_title_rollout",
        "rule_rollout",
    )
    assert not [
        key for key in ENGLISH.texts if key not in whole and not key.startswith(stems)
    ]


def test_no_text_says_where_a_picture_stands():
    """Two stand beside each other on a wide screen, and one below the other on a narrow
    one."""
    where = re.compile(
        r"\b(?:upper|lower|left|right) (?:picture|plot|chart|map)\b|"
        r"\b(?:imagen|gráfico|mapa|figura) de (?:arriba|abajo|la izquierda|la derecha)\b"
    )
    assert not [
        key
        for texts in (ENGLISH.texts, SPANISH.texts)
        for key, text in texts.items()
        if where.search(text)
    ]


def test_a_key_of_the_keyboard_has_one_name():
    assert not [
        key
        for key, said in SPANISH.texts.items()
        if re.search(r"\b(Entrar|Enter)\b", said)
    ]


@pytest.mark.parametrize(
    ("language", "shown"), [(ENGLISH, "12,345"), (SPANISH, "12\u202f345")]
)
def test_numbers_are_grouped_as_the_language_does(language, shown):
    assert shown in language.say("warning_control", count=12345)
    assert "True" in language.say("warning_control", count=True), "a truth is no number"


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_plain_text_is_as_it_is_and_html_is_escaped_with_its_values(language):
    evil = "<b title='&\">"
    assert evil in language.say("warning_unknown", characters=evil)
    escaped = language.html("warning_unknown", characters=evil)
    assert "&lt;b title=&#x27;&amp;&quot;&gt;" in escaped and not set("<>\"'") & set(
        escaped
    )


def test_a_message_is_said_in_the_language_of_its_reader():
    message = Message.of("warning_control", count=12345)
    assert (
        message.say()
        == message.say(ENGLISH)
        == ENGLISH.say("warning_control", count=12345)
    )
    assert (
        UserError(message).say(SPANISH)
        == SPANISH.say("warning_control", count=12345)
        != message.say()
    )
    assert str(UserError(message)) == message.say(), "in a log, English"
    assert UserError("One sentence.").say(SPANISH) == "One sentence."
