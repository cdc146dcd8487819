/* The authorities whose vehicles the maker's own server trusts: common name, and SHA-256 of the certificate.
 * A receiver names those of its file that are none of them. */
#include "tables/rows.h"

const struct vehicle_authority vehicle_authorities[] = {
    {"Tesla Issuing CA", "9210df2afb71dcdcdb96abc7d3607f67b7a8ff1ab95fd975ee716618c98d31fa"},
    {"Tesla Motors Root CA", "4045a9064a7ff9ba0b793f515a18ffcf006f86e504cd80ebad4465f7418430e1"},
    {"Tesla Policy CA", "56f74af54bc918ce3dcd9ddef1c41ef7747822ce673ecf554693d67c5417cd31"},
    {"Tesla Product RSA Root CA", "9c1432cbd81d9f842d35b782768e555b62446a3e6e5b6e95287f1de3a91fcbf5"},
    {"Tesla Product Root CA", "ebbaacc16eb93c2e961c58fd43d874df2760558da3ef681c7d617d89abba3f32"},
    {"Tesla Root CA", "681c9455f1051a9effa0ef0814901a5ea4c08241867e34fad2b431535cd9a4ae"},
    {"Tesla Motors GF Austin Product Issuing CA",
     "bdf7cf2fd449a7803b7224a306245b4dd47eab3b11288b05001b07623d8ef980"},
    {"Tesla Motors GF Berlin Product Issuing CA",
     "3468361b3dfe779ea4bdcfb3bd18de39e9371f453b93c6947e3167adf7c995be"},
    {"Tesla Motors GF0 Product Issuing CA",
     "db8c6739f268c4e3e7c90598c1de28724a22e41be0cc3d20c52717d9b56645d5"},
    {"Tesla Motors GF3 Product Issuing CA",
     "ca3087352e1b77854556988865b880ddf206d70ca84b826dc45b04f9883a1fe9"},
    {"Tesla Motors GF3 Product RSA Issuing CA",
     "6c221b7290db8ffcb8fc37174bc386886206b77fec83f11292b3f41f6f180b90"},
    {"Tesla Motors Product Issuing CA", "2baa91cf98e3bf3d48b3791d9b608de3e9b879852e6828924e98b9a7f7b716f4"},
    {"Tesla Motors Product RSA Issuing CA",
     "b18e1fe69a588703cccda70056bd5332952411b2b60e52bad63dcff8b5fa8b6d"},
    {"Tesla Motors Products CA", "a1ffaf486020d4643ac8832a0608a075bc509d6725eac205c0bfce61a21edeac"},
    {NULL, NULL}};
