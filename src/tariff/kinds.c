#include "tariff/kinds.h"

const char *tariff_side_name(enum tariff_side side) {
  return side == TARIFF_BUY ? "buy" : "sell";
}

const char *const tariff_lists[TARIFF_LISTS] = {"problems", "normalisations", "warnings"};

#define SEASON "season $season, $side"

/* clang-format off */
const struct tariff_kind_row tariff_kind_rows[] = {
    [TARIFF_SEASON_GAP] = {"season_gap", TARIFF_PROBLEMS, ON_SIDE | DATES,
        "$side: no season covers $from to $to (month-day); lengthen one or add one"},
    [TARIFF_SEASON_OVERLAP] = {"season_overlap", TARIFF_PROBLEMS, ON_SIDE | SEASONS | DATES,
        "$side: seasons $seasons both cover $from to $to (month-day); a day may have one season"},
    [TARIFF_PERIOD_GAP] = {"period_gap", TARIFF_PROBLEMS, ON_SIDE | ON_SEASON | SPAN,
        SEASON ": no period covers $span; lengthen a period or add one"},
    [TARIFF_PERIOD_OVERLAP] = {"period_overlap", TARIFF_PROBLEMS, ON_SIDE | ON_SEASON | LABELS | SPAN,
        SEASON ": $labels overlap on $span; a minute may have one period"},
    [TARIFF_PRICE_WITHOUT_PERIOD] = {"price_without_period", TARIFF_PROBLEMS, ON_SIDE | ON_CHARGES | ON_SEASON | ON_LABEL,
        SEASON ": $label has an $charged and no period; add a period or remove the price"},
    [TARIFF_PERIOD_WITHOUT_PRICE] = {"period_without_price", TARIFF_PROBLEMS, ON_SIDE | ON_CHARGES | ON_SEASON | ON_LABEL,
        SEASON ": $label has a period and no $charged; set $charges.$season.rates.$label"},
    [TARIFF_NEGATIVE_PRICE] = {"negative_price", TARIFF_NORMALISATIONS,
        ON_SIDE | ON_CHARGES | ON_SEASON | ON_LABEL | PRICE | BECOMES,
        SEASON ": the $charged of $label is $price; the service makes it 0"},
    [TARIFF_BUY_BELOW_SELL] = {"buy_below_sell", TARIFF_NORMALISATIONS, PAIR,
        "season $buy_season: $buy_label buys at $buy, below the sell price $sell (season $sell_season, $sell_label), "
        "on $spans; the service makes it $buy_becomes there"},
    [TARIFF_LABELS_NOT_SHOWN] = {"labels_not_shown", TARIFF_WARNINGS, ON_SIDE | LABELS,
        "$side: the app does not show the labels $labels; it knows ON_PEAK, PARTIAL_PEAK, OFF_PEAK, SUPER_OFF_PEAK"},
    [TARIFF_ALL_RECOMMENDED] = {"all_recommended", TARIFF_WARNINGS, ON_SIDE | PRICE,
        "$side: every period costs $price; for a flat tariff the label ALL is recommended"},
    [TARIFF_DAY_RANGES] = {"day_ranges", TARIFF_WARNINGS, ON_SIDE | RANGES,
        "$side: the app repeats rows for day ranges other than Mon-Sun, Mon-Fri and Sat-Sun (here: $ranges)"},
    [TARIFF_MISSING_TO_DAY] = {"missing_to_day_of_week", TARIFF_WARNINGS, ON_SIDE | ON_SEASON | ON_LABEL,
        SEASON ": $label has a period without toDayOfWeek; it is read as Sunday, or as Monday where only that covers the week once; write it"},
    [TARIFF_MISSING_CHARGES] = {"missing_charges", TARIFF_WARNINGS, ON_SIDE | ON_CHARGES,
        "$side: $charges has no price; a tariff without that section may be flagged later, so zeros are written"},
    [TARIFF_LEAP_DAY] = {"leap_day", TARIFF_WARNINGS, ON_SIDE | ON_SEASON,
        SEASON ": 29 February is in no season; it is taken with the season of the 28th"},
    {"bad_currency", TARIFF_PROBLEMS, 0, "$currency; write USD, EUR or GBP"},
    {"bad_value", TARIFF_PROBLEMS, 0, "$path is $value; it must be $expected"},
    {"older_form", TARIFF_PROBLEMS, 0,
        "this is the older tariff_content; write tariff_content_v2: prices under energy_charges.SEASON.rates, periods under "
        "seasons.SEASON.tou_periods.LABEL.periods"},
    {"unknown_key", TARIFF_PROBLEMS, 0, "$path has a member '$key' that no tariff has$nearest"},
    {NULL, TARIFF_PROBLEMS, 0, NULL},
};
/* clang-format on */
